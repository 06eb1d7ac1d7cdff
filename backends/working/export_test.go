// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

// Sweep looks once for sessions that other processes left, as the sweeper does.
var Sweep = (*Memory).sweep
