// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package cellar is a small world without chance: a dark cellar of cells with a key,
// a locked door and an exit behind it. Ground of one sort gives way, the lock wants
// the colour in one form, and the scanner fails for some radii. Which, is drawn once
// for a family of cellars and holds in each of them: so what was lived through in
// one helps in the next, and cannot be known before.
package cellar
