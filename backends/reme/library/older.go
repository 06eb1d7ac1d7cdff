// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

// readOlder turns a line of ReMe before 0.2, in which memories were experiences,
// into one of 0.2. Author and times stand in its metadata alone.
func readOlder(o object) error {
	if id, ok := o["experience_id"]; ok && !o.has("memory_id") {
		o["memory_id"] = id
		delete(o, "experience_id")
	}
	var kind any
	raw := o["experience_type"]
	if err := o.take("experience_type", &kind); err != nil {
		return err
	}
	if kind != nil && kind != "text" { // the one type that there was
		o["experience_type"] = raw
	}
	return nil
}
