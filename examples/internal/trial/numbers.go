// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"fmt"
	"strconv"
	"strings"
)

// Numbers are a flag's value: numbers above 0, separated by commas.
type Numbers []int

// Set implements flag.Value.
func (n *Numbers) Set(list string) error {
	var out Numbers
	for _, s := range strings.Split(list, ",") {
		i, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || i <= 0 {
			return fmt.Errorf("%q is no number above 0", s)
		}
		out = append(out, i)
	}
	*n = out
	return nil
}

// String implements flag.Value.
func (n *Numbers) String() string {
	out := make([]string, len(*n))
	for i, number := range *n {
		out[i] = strconv.Itoa(number)
	}
	return strings.Join(out, ",")
}
