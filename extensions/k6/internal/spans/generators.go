package spans

// place sets the host of each message's generator.
func (k *Keeper) place(all []*message, generators []Generator) {
	hosts := make(map[int]int, len(generators))
	for _, g := range generators {
		hosts[g.Number] = k.hostOf(g, generators[0])
	}
	for _, m := range all {
		number, _ := Owner(m.deliveries[0].Seq)
		m.host = hosts[number]
	}
}

// hostOf is the host of a generator. That of the first is not one of the spans' hosts, even where spans come from it.
func (k *Keeper) hostOf(g, first Generator) int {
	if g.Host == first.Host {
		return generator
	}
	host := k.hosts.number(g.Host)
	k.named[host] = true
	return int(host)
}

// knowGenerators notes what Redis' clock shows of the generators' clocks.
func (k *Keeper) knowGenerators(h *hosts, all []Generator) {
	for _, g := range all[1:] {
		host := k.hostOf(g, all[0])
		if host == generator || g.RedisMS == nil || all[0].RedisMS == nil {
			continue
		}
		ahead, bound := *all[0].RedisMS-*g.RedisMS, all[0].BoundMS+g.BoundMS
		h.know(host, int64(ahead*1000), int64(bound*1000)+1)
	}
}

// Add adds what another generator of the run has traced. Both must not have a generator in common.
func (t *Traced) Add(other *Traced) {
	oneHost := t.OneHost && other.OneHost && t.Generators[0].Host == other.Generators[0].Host
	if len(t.Clocks) == 0 && len(other.Clocks) > 0 && t.Generators[0].RedisMS != nil &&
		other.Generators[0].RedisMS != nil {
		ahead := *t.Generators[0].RedisMS - *other.Generators[0].RedisMS
		for _, c := range other.Clocks {
			c.OffsetMS += ahead
			c.BoundMS += t.Generators[0].BoundMS + other.Generators[0].BoundMS
			t.Clocks = append(t.Clocks, c)
		}
	}
	t.OneHost = oneHost
	t.All += other.All
	t.Generators = append(t.Generators, other.Generators...)
	t.Kept = append(t.Kept, other.Kept...)
	for n, id := range other.IDs {
		t.IDs[n] = id
	}
}
