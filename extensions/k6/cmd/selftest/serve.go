package main

import (
	"context"
	"fmt"
	"io"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// serve runs a pipeline alone until ctx ends. It prints the addresses, and at the end how many requests came.
func serve(ctx context.Context, f *fake.Pipeline, out io.Writer) error {
	if err := f.Start(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "INGEST_URL=%s MQTT_URL=%s\n", f.IngestURL(), f.MQTTURL()); err != nil {
		return err
	}
	<-ctx.Done()
	if _, err := fmt.Fprintf(out, "%d requests\n", f.Requests()); err != nil {
		return err
	}
	return f.Close()
}
