# Runs an engine in this process group, and ends the group with the host: the host holds the other
# end of standard input, and however it goes, that end closes.
# Arguments: the engine's folder, seconds of grace, the command.
folder=$1
grace=$2
shift 2
trap : TERM INT HUP
exec 3<&0
"$@" </dev/null 3<&- &
engine=$!
(
  trap '' TERM INT HUP
  exec >/dev/null 2>&1
  # Nothing is ever written: this ends with the host, or when the host says so.
  read -r _ <&3
  kill -TERM 0
  waited=0
  while [ "$waited" -lt "$grace" ] && kill -0 "$engine"; do
    sleep 1
    waited=$((waited + 1))
  done
  rm -f "$folder/engine.sock"
  rmdir "$folder"
  kill -KILL 0
) &
exec 3<&- </dev/null
# A signal ends a `wait` before its time.
while :; do
  wait "$engine"
  code=$?
  kill -0 "$engine" 2>/dev/null || break
done
exit "$code"
