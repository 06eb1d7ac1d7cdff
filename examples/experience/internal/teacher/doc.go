// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package teacher is the chat model that experience is extracted, judged, merged and
// written down by where there is no real one. It reads the attempts and the calls that
// it is shown, and nothing else, by rules that would do for other worlds:
//
//   - When an attempt ended as a place was reached, what the place was said to be like
//     is suspect, less what was stood on in the same attempt without harm.
//   - What was stood on without harm holds.
//   - When calls of a tool with some values of an argument worked and with others
//     failed, it says what the former have in common: a range, a way to write.
//
// It may be wrong: of two suspects one is innocent.
package teacher
