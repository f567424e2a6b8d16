// Collector is the OpenTelemetry Collector with one receiver and one exporter: it prints each OTLP export
// of metrics or traces to standard output, as a line of JSON, as its file exporter writes them.
//
//	go run . --config 'yaml:{…}'
package main

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.NewDefaultBuildInfo(),
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
			DefaultScheme:     "yaml",
		}},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		os.Exit(1) // Execute has printed the error
	}
}

func factories() (otelcol.Factories, error) {
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](exporter.NewFactory(
		component.MustNewType("lines"), func() component.Config { return &struct{}{} },
		exporter.WithMetrics(metrics, component.StabilityLevelDevelopment),
		exporter.WithTraces(traces, component.StabilityLevelDevelopment),
	))
	telemetry := otelconftelemetry.NewFactory()
	return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: telemetry}, err
}

func metrics(ctx context.Context, set exporter.Settings, config component.Config) (exporter.Metrics, error) {
	return exporterhelper.NewMetrics(ctx, set, config, func(_ context.Context, all pmetric.Metrics) error {
		return line(new(pmetric.JSONMarshaler).MarshalMetrics(all))
	})
}

func traces(ctx context.Context, set exporter.Settings, config component.Config) (exporter.Traces, error) {
	return exporterhelper.NewTraces(ctx, set, config, func(_ context.Context, all ptrace.Traces) error {
		return line(new(ptrace.JSONMarshaler).MarshalTraces(all))
	})
}

func line(text []byte, err error) error {
	if err == nil {
		_, err = fmt.Printf("%s\n", text)
	}
	return err
}
