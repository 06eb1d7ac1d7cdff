// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

func (h *Handler) mem0Routes() {}
