// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"io/fs"
	"path/filepath"
	"runtime"
)

// Heap returns how many bytes the process uses, after what it does not was freed.
func Heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// SizeOf returns how many bytes the files below a folder have.
func SizeOf(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
