# Ends processes when whoever holds the leash is gone, however he went.
#
# stdin  the pids on the leash, one list a line; the last line counts. Its end means: gone.
# Then all are told to end, and after 15 s made to.
pids=
while read -r line; do pids=$line; done
[ -z "$pids" ] || kill -TERM $pids 2>/dev/null
tries=0
while [ -n "$pids" ] && [ $tries -lt 75 ]; do
  alive=
  for pid in $pids; do kill -0 "$pid" 2>/dev/null && alive="$alive $pid"; done
  pids=$alive
  tries=$((tries + 1))
  [ -z "$pids" ] || sleep 0.2
done
[ -z "$pids" ] || kill -KILL $pids 2>/dev/null
