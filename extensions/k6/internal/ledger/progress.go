package ledger

// End records that all requests of the closed model have been sent or dropped. The open model knows from its schedule.
func (l *Ledger) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// Settled reports whether every request of the run has been sent and answered, or dropped.
func (l *Ledger) Settled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pacer.Closed() {
		return l.ended && l.inFlight == 0
	}
	return l.sent+l.dropped == l.pacer.Requests() && l.inFlight == 0
}

// InFlight counts the requests without an answer.
func (l *Ledger) InFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight
}

// Owed counts the deliveries of accepted messages that have not arrived.
func (l *Ledger) Owed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owed
}

// Deliveries counts the deliveries so far, without duplicates.
func (l *Ledger) Deliveries() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deliveries
}

// Strangers counts the messages that came and are none of this run, if none of this run has come; 0: one has.
func (l *Ledger) Strangers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deliveries > 0 || l.anyOurs {
		return 0
	}
	return l.foreign
}

// FirstTaken is when the request was sent that was accepted first: while nothing has arrived, its messages are the
// oldest under way. ok is false if none was accepted.
func (l *Ledger) FirstTaken() (at int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.firstTaken, l.anyTaken
}

// Open counts the messages that may still arrive: accepted or without an answer.
func (l *Ledger) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}
