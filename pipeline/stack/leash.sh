# Ends processes when whoever holds the leash is gone, however he went.
#
# stdin  the pids on the leash, one list a line; the last line counts. Its end means: gone.
# Then all are told to end, and after 15 s made to, with what they left of their groups.
pids=
while read -r line; do pids=$line; done
[ -z "$pids" ] || kill -TERM $pids 2>/dev/null
waiting=$pids
tries=0
while [ -n "$waiting" ] && [ $tries -lt 75 ]; do
  alive=
  for pid in $waiting; do kill -0 "$pid" 2>/dev/null && alive="$alive $pid"; done
  waiting=$alive
  tries=$((tries + 1))
  [ -z "$waiting" ] || sleep 0.2
done
[ -z "$waiting" ] || kill -KILL $waiting 2>/dev/null
for pid in $pids; do kill -KILL "-$pid" 2>/dev/null; done
