// Package must ends a piece of work at its first error, as Fatal ends a test. It is for commands whose steps
// all depend on the ones before. Only the goroutine that called Try may end its work.
package must

import "fmt"

// failure is the error that ended the work.
type failure struct{ error }

// Do ends the work if err is not nil.
func Do(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get returns the value, or ends the work.
func Get[T any](value T, err error) T {
	Do(err)
	return value
}

// Fail ends the work with fmt.Errorf's error.
func Fail(format string, args ...any) { Do(fmt.Errorf(format, args...)) }

// Try does the work and returns the error that ended it.
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
