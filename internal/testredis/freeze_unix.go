// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testredis

import "syscall"

func (p *process) freeze() error    { return p.signal(syscall.SIGSTOP) }
func (p *process) thaw() error      { return p.signal(syscall.SIGCONT) }
func (p *process) terminate() error { return p.signal(syscall.SIGTERM) }
