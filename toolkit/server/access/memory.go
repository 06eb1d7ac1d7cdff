// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/hooks"
)

// Memory is the memory to serve: a middleware.MemoryMiddleware is one.
type Memory interface {
	Backend() backends.Backend
	Window() backends.Window  // a *window.Window, for sessions and archives; nil turns them off
	Working() *working.Memory // the log of turns; nil turns it off
	Preview(ctx context.Context, s backends.Scope, message string) (*hooks.Preview, error)
	Rollback(ctx context.Context, r *backends.RollbackRequest) (*backends.RollbackReport, error)
	Forget(ctx context.Context, s backends.Scope) (*backends.Receipt, error)
	ForgetPart(ctx context.Context, s backends.Scope, part *backends.Part) (*backends.Receipt, error)
	ForgetsAlso(places ...backends.Place)
	Export(ctx context.Context, s backends.Scope, w io.Writer) (store.TransferCount, error)
	Import(ctx context.Context, s backends.Scope, r io.Reader, o *store.ImportOptions) (store.TransferCount, error)
}

// Door keeps a memory for the code that serves it over a network. It hands out only the scopes that
// a key opens. It is safe for concurrent use.
type Door struct {
	memory  Memory
	store   store.Store
	manager backends.Manager
}

// NewDoor returns a door to a memory, and to the store behind it, which may be nil.
func NewDoor(m Memory, s store.Store) *Door {
	manager, _ := backends.As[backends.Manager](m.Backend())
	return &Door{m, s, manager}
}

// Opened is the result of a key: a scope, and the memory to use with that scope.
type Opened struct {
	Memory
	key     *Key
	Scope   backends.Scope
	Store   store.Store      // nil: the server has no store
	Manager backends.Manager // nil: the backend lacks calls for single memories
}

// WindowOf returns the window of a served memory, or nil.
func WindowOf(m Memory) *window.Window {
	w, _ := m.Window().(*window.Window)
	return w
}

// Window returns the window, or nil.
func (o *Opened) Window() *window.Window { return WindowOf(o.Memory) }

// Open opens a scope. It returns the errors of [Key.Open].
func (d *Door) Open(k *Key, s backends.Scope, m Mode) (*Opened, error) {
	s, err := k.Open(s, m)
	if err != nil {
		return nil, err
	}
	return &Opened{d.memory, k, s, d.store, d.manager}, nil
}

// OpenAll opens all of a namespace. It returns the errors of [Key.OpenAll].
func (d *Door) OpenAll(k *Key, namespace string, m Mode) (*Opened, error) {
	namespace, err := k.OpenAll(namespace, m)
	if err != nil {
		return nil, err
	}
	return &Opened{d.memory, k, backends.Scope{Namespace: namespace}, d.store, d.manager}, nil
}

// People returns a page of the partitions that match, hold something, and that the key names. A key
// for some of them gets a single page: the cursor of the next may reveal somebody else's name.
// Where the store is no [store.Finder], a page may be longer than asked for.
func (d *Door) People(ctx context.Context, k *Key, q store.PartitionQuery) (out *store.PartitionPage, err error) {
	switch {
	case d.store == nil:
		return nil, fmt.Errorf("%w: there is no store", backends.ErrInvalid)
	case len(q.Part) > backends.MaxScopePart:
		return nil, fmt.Errorf("%w: a part of a name has at most %d bytes", backends.ErrInvalid, backends.MaxScopePart)
	case !opens(k.Namespaces, q.Namespace) || len(k.Users)+len(k.Agents)+len(k.Workspaces) == 0:
		return nil, denied("this key does not open that namespace")
	case k.everybody():
		for more := true; more && err == nil; more = len(out.Partitions) == 0 && out.Next != "" {
			if out, err = d.find(ctx, q); out != nil {
				q.Page.Cursor = out.Next
			}
		}
		return out, err
	}
	out = &store.PartitionPage{}
	err = store.Each(func(page store.Page) (*store.PartitionPage, error) {
		q.Page = page
		return d.find(ctx, q)
	}, func(p backends.Partition) error {
		if k.names(p) {
			out.Partitions = append(out.Partitions, p)
		}
		return nil
	})
	return out, err
}

// find returns a page of the partitions that match, which may be empty and still have a next.
func (d *Door) find(ctx context.Context, q store.PartitionQuery) (*store.PartitionPage, error) {
	if finder, ok := d.store.(store.Finder); ok {
		return finder.FindPartitions(ctx, q)
	}
	if q.Kind != "" || q.Part != "" {
		q.Page.Limit = 1000
	}
	page, err := d.store.Partitions(ctx, q.Namespace, q.Page)
	if err == nil {
		part := strings.ToLower(q.Part)
		page.Partitions = slices.DeleteFunc(page.Partitions, func(p backends.Partition) bool {
			return q.Kind != "" && p.Kind != q.Kind || !strings.Contains(strings.ToLower(p.ID), part)
		})
	}
	return page, err
}

// Count counts the partitions of a namespace by their kinds, and the facts that hold there: -1 if
// the store is no [store.Finder]. The key has to name everybody.
func (d *Door) Count(ctx context.Context, k *Key, namespace string) (people map[backends.PartitionKind]int, facts int64, err error) {
	if !k.everybody() {
		return nil, 0, denied("this key does not open everybody")
	}
	people = map[backends.PartitionKind]int{}
	err = store.Each(func(page store.Page) (*store.PartitionPage, error) {
		return d.People(ctx, k, store.PartitionQuery{Namespace: namespace, Page: page})
	}, func(p backends.Partition) error {
		people[p.Kind]++
		return nil
	})
	finder, ok := d.store.(store.Finder)
	if err != nil || !ok {
		return people, -1, err
	}
	facts, err = finder.CountFacts(ctx, namespace)
	return people, facts, err
}

// Import imports into the scope. The key has to open every partition of the stream for writing, in
// a workspace as the user of the scope. A stream of an agent or a workspace may name several users,
// so it needs an admin.
func (o *Opened) Import(ctx context.Context, r io.Reader) (store.TransferCount, error) {
	if o.Scope.UserID == "" && !o.key.Admin {
		return store.TransferCount{}, denied("an export of an agent or a workspace is imported by a key with admin")
	}
	return o.Memory.Import(ctx, o.Scope, r, &store.ImportOptions{Open: func(_ context.Context, p backends.Partition) error {
		s := p.Scope()
		if p.Kind == backends.PartitionWorkspace {
			s.UserID = o.Scope.UserID
		}
		_, err := o.key.Open(s, Write)
		return err
	}})
}

// Erase forgets all of a person, or a part, and returns a receipt for clients, which leaves out the
// files of the server.
func (o *Opened) Erase(ctx context.Context, s backends.Scope, part *backends.Part) (receipt *backends.Receipt, err error) {
	if part != nil {
		receipt, err = o.ForgetPart(ctx, s, part)
	} else {
		receipt, err = o.Forget(ctx, s)
	}
	if receipt != nil && len(receipt.Outside) > 0 {
		receipt.Outside = []string{"backups and copies of the server's storage, and what its disks keep of blocks that were overwritten"}
	}
	return receipt, err
}

// Search searches, and also finds messages that are still to be learnt.
func (o *Opened) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	q := *r
	q.Scope = o.Scope
	if w := o.Working(); w != nil && len(r.Beside) == 0 {
		said, _, err := w.Unlearnt(ctx, q.Scope)
		if err != nil {
			return nil, err
		}
		q.Beside = said
	}
	return o.Backend().Search(ctx, &q)
}
