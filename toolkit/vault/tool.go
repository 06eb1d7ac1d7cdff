// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package vault

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components/tool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/agenttool"
	"github.com/einomem/einomem/internal/einox"
)

type readArguments struct {
	Name string `json:"name"`
}

var texts = map[backends.Language]agenttool.Text{
	backends.English: `Read a secret that the user has put into the vault, such as a code or a password. Use it only where the task needs the secret itself, and say it only to the user. The user is asked first.
name: The name of the secret.
error: Error reading the vault
no scope: No user is signed in, so there is no vault. Continue without it.
not found: There is no secret of that name. These exist: %s
invalid: The call cannot succeed like this. Change the arguments or continue without it.
declined: The user declined. Continue without the secret, and do not ask for it again.
unavailable: The vault is not available now. Continue without it.`,
	backends.Chinese: `读取用户存放在保险库中的秘密，例如门禁码或密码。只有任务确实需要秘密本身时才使用，并且只告诉用户本人。读取前会先征得用户同意。
name: 秘密的名称。
error: 读取保险库时出错
no scope: 当前没有登录的用户，因此没有保险库。请在没有它的情况下继续。
not found: 没有这个名称的秘密。现有：%s
invalid: 这样调用不会成功。请修改参数，或在没有它的情况下继续。
declined: 用户拒绝了。请在没有该秘密的情况下继续，不要再次索取。
unavailable: 保险库暂时不可用。请在没有它的情况下继续。`,
}

// Tools returns the tool read_secret(name). Before each reading it asks setup.Confirm, with the name
// in Change.Read. Confirm and Scope are required, else ErrInvalid. Where the name is unknown the
// model reads the names that exist. Errors become text for the model.
func (v *Vault) Tools(setup *backends.ToolSetup) ([]tool.BaseTool, error) {
	if setup == nil || setup.Confirm == nil {
		return nil, fmt.Errorf("vault: %w: ToolSetup.Confirm says whether a secret is handed out: set it", backends.ErrInvalid)
	}
	k := &agenttool.Kit{ToolSetup: *setup, Texts: map[string]agenttool.Text{einox.ReadSecret: texts[setup.Language.For()]}}
	if err := k.Init(); err != nil {
		return nil, fmt.Errorf("vault: %w", err)
	}
	agenttool.Define(k, agenttool.Spec{Name: einox.ReadSecret, Asks: true}, func(ctx context.Context, s backends.Scope, a *readArguments) (string, error) {
		name := strings.TrimSpace(a.Name)
		secret, err := v.Get(ctx, s, name)
		if errors.Is(err, backends.ErrNotFound) {
			if names, listed := v.Names(ctx, s); listed == nil {
				err = agenttool.Refusef(k.Texts[einox.ReadSecret].Line("not found"), strings.Join(names, ", "))
			}
		}
		if err == nil {
			err = k.ConfirmAs(einox.ReadSecret).Ask(ctx, backends.Change{Scope: s, Read: name})
		}
		if errors.Is(err, backends.ErrDeclined) {
			err = agenttool.Refusal(k.Texts[einox.ReadSecret].Line("declined"))
		}
		if err != nil {
			return "", err
		}
		return string(secret), nil
	})
	return k.Tools()
}
