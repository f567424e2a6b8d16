package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Values of the tables of Student's t.
func TestStudentsTIsThatOfTheTables(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ level, freedom, t float64 }{
		{0.95, 1, 12.7062}, {0.95, 3, 3.18245}, {0.95, 10, 2.22814}, {0.95, 29, 2.04523}, {0.99, 5, 4.03214},
		{0.95, 1e6, 1.95997},
	} {
		assert.InDelta(t, row.t, critical(row.level, row.freedom), 1e-4)
		assert.InDelta(t, 1-row.level, beyond(row.t, row.freedom), 1e-5)
	}
	assert.InDelta(t, 1, beyond(0, 7), 1e-12)
	assert.InDelta(t, (critical(0.95, 4)+critical(0.95, 5))/2, critical(0.95, 4.5), 0.03, "freedom need not be whole")
}
