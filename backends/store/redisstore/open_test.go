// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"crypto/tls"

	"github.com/redis/go-redis/v9"
)

func withTLS(o *redis.Options) { o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12} }
