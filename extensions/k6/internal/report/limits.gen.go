// Code generated from reports/contract/limits.json; DO NOT EDIT.

package report

// The most that a reader of a run takes, in Go and in TypeScript. A run of a day has 100 MB and 7 million values.
const (
	limitFileBytes          = 400000000
	limitHistogramBytes     = 4194304
	limitHistogramDigits    = 3
	limitHistogramHighestUS = 3600000000
	limitJSONValues         = 30000000
	limitLogInflatesTimes   = 64
	limitLogLines           = 1000000
	limitSummaryBytes       = 262144
	limitTimelineLineBytes  = 1048576
	limitTimelineSeconds    = 1000000
)
