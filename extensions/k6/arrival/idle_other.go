//go:build !unix

package arrival

// closed is not known here.
func (c *watchedConn) closed() bool { return false }
