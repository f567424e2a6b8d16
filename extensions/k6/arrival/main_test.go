package arrival

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// Tests here wait, for schedules and for time-outs, much longer than they work.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	}
	os.Exit(m.Run())
}
