// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/work"
)

// form is a way to ask for a structured answer. If a model refuses one form, the next is
// tried, and kept from then on.
type form int

const (
	bySchema form = iota // the model is held to a JSON schema
	forced               // to one call of a tool
	auto                 // it is offered the tool
	prompted             // JSON in the prompt
	small                // lines of JSON, by [Small]
)

// formNames are the values of openai.Config.Answers, and the names in reports.
var formNames = []string{"schema", "forced", "auto", "prompt", "small"}

// shaped is a chat model that can be held to a JSON schema. Models of one endpoint share the
// knowledge about its forms.
type shaped interface {
	WithJSONSchema(answer *schema.ToolInfo) (model.BaseChatModel, error)
	Endpoint() (name, answers string)
}

// forms is the knowledge about models: the form of each, by its endpoint or by the chat model
// itself, how many senseless answers it gave in a row, and whether it refuses a temperature of 0.
var forms = struct {
	sync.Mutex
	of      map[any]form
	strikes map[any]int
	warm    map[any]bool
}{of: map[any]form{}, strikes: map[any]int{}, warm: map[any]bool{}}

// The numbers of strikes after which questions are put in the small form at once.
const (
	newStrikes      = 2  // for a model without a sensible answer so far
	sensibleStrikes = 3  // for another
	isSmall         = 99 // it was understood in the small form then
)

// strike notes a senseless answer in a usual form, if it counts, and reports whether to ask in the
// small form. A new model gets it at once, another after two such answers.
func (m *Model) strike(counts bool) bool {
	forms.Lock()
	defer forms.Unlock()
	if counts {
		forms.strikes[m.key]++
	}
	return forms.strikes[m.key] > 1 || forms.strikes[m.key] > 0 && !m.sensible
}

// isLost reports whether questions are put in the small form at once. The caller holds the lock of
// forms.
func (m *Model) isLost() bool {
	return forms.strikes[m.key] >= sensibleStrikes || forms.strikes[m.key] >= newStrikes && !m.sensible
}

// chooseForm finds the first form of the model, and its key in forms.
func (m *Model) chooseForm() {
	m.calling, _ = m.plain.(model.ToolCallingChatModel)
	m.shaped, _ = m.plain.(shaped)
	m.key, m.first = any(m), forced
	if reflect.ValueOf(m.plain).Comparable() {
		m.key = m.plain
	}
	if m.shaped != nil {
		name, answers := m.shaped.Endpoint()
		m.key, m.first = name, max(bySchema, form(slices.Index(formNames, answers)))
	}
	if m.calling == nil {
		m.first = prompted
	}
}

// form returns the form of a question.
func (m *Model) form(q *Question) form {
	forms.Lock()
	defer forms.Unlock()
	if q.Small != nil && (m.small || m.isLost()) {
		return small
	}
	return max(m.first, forms.of[m.key])
}

// Small reports whether questions with a small form are put in it.
func (m *Model) Small() bool { return m != nil && m.form(&Question{Small: &Small{}}) == small }

// takes remembers the form that the model answered in after it had refused or ignored others, and
// reports it once.
func (m *Model) takes(ctx context.Context, f form) {
	forms.Lock()
	known, lost := max(m.first, forms.of[m.key]), forms.strikes[m.key]
	news := f == small && m.isLost() && lost < isSmall || f != small && f > known
	switch {
	case news && f == small:
		forms.strikes[m.key] = isSmall
	case news:
		forms.of[m.key] = f
	}
	if f != small && lost < isSmall {
		m.sensible = true
		delete(forms.strikes, m.key)
	}
	forms.Unlock()
	if news {
		work.Learnt(ctx, m.onError, fmt.Errorf("%s: the model does not answer in the form %q. It is asked in the form %q from now on", m.name, formNames[known], formNames[f]))
	}
}

// generate asks in a form and, after each refusal, in the next.
func (m *Model) generate(ctx context.Context, q *Question, reason string, a *answerForm, by form) (*schema.Message, form, error) {
	for ; ; by++ {
		out, err := m.askBy(ctx, by, q, reason, a)
		if a != nil && m.isWarm(err, by) {
			out, err = m.askBy(ctx, by, q, reason, a)
		}
		if err == nil || a == nil || by >= prompted || !fault.MayBeForm(err) {
			return out, by, err
		}
	}
}

// isWarm reports whether an error may be the first refusal of a temperature of 0, and remembers it:
// it says so, or no other form is left.
func (m *Model) isWarm(err error, by form) bool {
	if err == nil || !fault.MayBeForm(err) || by < prompted && !fault.Mentions(err, "temperature") {
		return false
	}
	return m.warmUp()
}

// warmUp leaves the temperature to the server from now on, and reports whether that is new.
func (m *Model) warmUp() bool {
	forms.Lock()
	defer forms.Unlock()
	known := forms.warm[m.key]
	forms.warm[m.key] = true
	return !known
}

// answerForm is the form of an answer; a text has none.
type answerForm struct {
	tool    *schema.ToolInfo
	example string // its JSON
}

func (m *Model) askBy(ctx context.Context, f form, q *Question, reason string, a *answerForm) (*schema.Message, error) {
	asked, opts, err := m.plain, []model.Option(nil), error(nil)
	system, user := q.parts(f)
	p := phrases[q.Language.For()]
	forms.Lock()
	cold := a != nil && reason == "" && !forms.warm[m.key] // a second answer has to differ
	forms.Unlock()
	if cold {
		opts = append(opts, model.WithTemperature(0))
	}
	if f == small {
		opts = append(opts, model.WithMaxTokens(q.Small.most()))
	} else if a != nil {
		switch f {
		case bySchema:
			asked, err = m.shaped.WithJSONSchema(a.tool)
		case forced, auto:
			asked, err = m.calling.WithTools([]*schema.ToolInfo{a.tool})
		}
		if err != nil {
			return nil, fmt.Errorf("giving the model the tool %s: %w", a.tool.Name, err)
		}
		if f == forced {
			opts = append(opts, model.WithToolChoice(schema.ToolChoiceForced))
		}
		if f == forced || f == auto {
			system += "\n\n" + fmt.Sprintf(p.byTool, a.tool.Name)
		} else {
			system += "\n\n" + p.byJSON + " " + a.example
		}
	}
	in := []*schema.Message{schema.SystemMessage(system), schema.UserMessage(user + reason)}
	out, err := fault.Call(ctx, m.breaker, m.timeout, func(ctx context.Context) (*schema.Message, error) {
		out, err := asked.Generate(work.Detach(ctx, m.typ, components.ComponentOfChatModel), in, opts...)
		if err == nil && out == nil {
			err = fault.Told(errors.New("the model answered nothing"))
		}
		return out, fault.Quiet(err)
	})
	late := ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded)
	if late && cold { // a greedy answer that repeats itself has no end
		m.warmUp()
	}
	if late && m.limit != "" {
		err = fmt.Errorf("%w: raise %s if the model needs longer than %s", err, m.limit, m.timeout)
	}
	return out, err
}
