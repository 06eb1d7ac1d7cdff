// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	_ "embed" // the scripts are files

	"github.com/redis/go-redis/v9"
)

// The scripts of the index. None of them searches it: a script does that on the
// server's main thread, while everybody waits.
var (
	//go:embed lua/near_look.lua
	nearLookSource string
	//go:embed lua/near_write.lua
	nearWriteSource string
	//go:embed lua/near_release.lua
	nearReleaseSource string

	nearLookScript    = redis.NewScript(nearLookSource)
	nearWriteScript   = redis.NewScript(nearWriteSource)
	nearReleaseScript = redis.NewScript(nearReleaseSource)
)
