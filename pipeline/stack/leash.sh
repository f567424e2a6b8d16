# Ends processes when the process that holds the leash is gone, even by SIGKILL.
#
# stdin  lists of pids, one a line; the last line counts. At its end the holder is gone.
# Then all pids get SIGTERM, and after 15 s their groups get SIGKILL.
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
