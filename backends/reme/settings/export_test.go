// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import "maps"

// Keys are those of all fields that have one value.
func Keys() []string { return keys }

// Former are the names of ReMe 0.2 and the keys that they are here.
func Former() map[string]string { return maps.Clone(former) }

// Nearest is what errors name.
var Nearest = nearest

// Distance is how far keys are apart.
var Distance = distance
