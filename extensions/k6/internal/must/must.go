// Package must ends a piece of work at its first error, as Fatal ends a test: for commands whose every step is worth nothing without the
// one before. Only the goroutine that called Try may end its work.
package must

import "fmt"

// failure is what the work was ended for.
type failure struct{ error }

// Do ends the work where there is an error.
func Do(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get is the value, or the end of the work.
func Get[T any](value T, err error) T {
	Do(err)
	return value
}

// Fail ends the work with fmt.Errorf's error.
func Fail(format string, args ...any) { Do(fmt.Errorf(format, args...)) }

// Try does the work, and returns the error that ended it.
func Try(work func()) (err error) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			err = f.error
		default:
			panic(f)
		}
	}()
	work()
	return nil
}
