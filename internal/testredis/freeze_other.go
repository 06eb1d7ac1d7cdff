// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package testredis

import "errors"

var errNoSignals = errors.New("this system has no such signals")

func (p *process) freeze() error    { return errNoSignals }
func (p *process) thaw() error      { return errNoSignals }
func (p *process) terminate() error { return errNoSignals }
