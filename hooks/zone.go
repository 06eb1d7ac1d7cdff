// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/adk"

	"github.com/einomem/einomem/backends"
)

// timeZone is the name of a person's zone among the session values of a run, and in the metadata
// of a standing memory.
const timeZone = "time_zone"

// zoneKey is the context's key for the zone of a wrapped run.
type zoneKey struct{}

// Zone returns the zone of the person for whom a run is made: its session value "time_zone", else
// Config.Location. It reports the name of an unknown zone once.
func (h *Hooks) Zone(ctx context.Context) *time.Location { return h.zoneOf(ctx, nil) }

// zoneOf is Zone, and takes the zone of a standing memory as well.
func (h *Hooks) zoneOf(ctx context.Context, standing []backends.Hit) *time.Location {
	name := ctx.Value(zoneKey{})
	h.guard(ctx, StageZone, func() {
		if v := adk.GetSessionValues(ctx)[timeZone]; v != nil {
			name = v
		}
	})
	for i := range standing {
		if name == nil {
			name = standing[i].Metadata[timeZone]
		}
	}
	if name == nil || name == "" {
		return h.cfg.Location
	}
	zone, err := loadZone(name)
	if err != nil {
		if said := fmt.Sprint(name); h.badZone.Swap(said) != said {
			h.report(ctx, StageZone, fmt.Errorf("%s %q: %w: use a name such as \"Asia/Shanghai\"; times are shown in %s", timeZone, said, err, h.cfg.Location))
		}
		return h.cfg.Location
	}
	return zone
}

func loadZone(value any) (*time.Location, error) {
	name, err := scopeText(value)
	if err != nil {
		return nil, err
	}
	return time.LoadLocation(name)
}
