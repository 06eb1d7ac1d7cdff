module github.com/einomem/einomem/examples/bench/peers

go 1.25.0

require (
	github.com/einomem/einomem v0.0.0
	github.com/philippgille/chromem-go v0.7.0
)

require (
	github.com/chewxy/math32 v1.10.1 // indirect
	github.com/viterin/partial v1.1.0 // indirect
	github.com/viterin/vek v0.4.3 // indirect
	golang.org/x/exp v0.0.0-20250305212735-054e65f0b394 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/einomem/einomem => ../../..
