// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"fmt"

	"github.com/einomem/einomem/backends/redact"
)

// Text takes secrets out, Shared also what is personal.
func Example() {
	said := "My password is xK9#mQ2vL, write to ann@example.org."
	fmt.Println(redact.Text(said))
	fmt.Println(redact.Shared(said))
	fmt.Println(redact.None(said) == said)
	// Output:
	// My password is [redacted:password], write to ann@example.org.
	// My password is [redacted:password], write to [redacted:email].
	// true
}
