// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

// readNode turns a line of the files of ReMe's local vector store into one of its
// dumps. Vectors are of a model that nobody names: they are left out.
func readNode(o object) error {
	inner, err := o.nested("metadata")
	if err != nil {
		return err
	}
	delete(o, "vector")
	for from, to := range map[string]string{"unique_id": "memory_id", "content": "when_to_use"} {
		raw, ok := o[from]
		delete(o, from)
		if ok {
			o[to] = raw
		}
	}
	for name, raw := range inner {
		if _, taken := o[name]; taken {
			name = "metadata." + name
		}
		o[name] = raw
	}
	return nil
}
