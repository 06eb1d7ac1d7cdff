// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package working_test

// stride is how many steps lie between the deaths of the crash test. A child
// process takes a second to start under the race detector.
const stride = 12
