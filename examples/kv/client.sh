#!/usr/bin/env bash
# The same client in the shell: an operation a line in, its outcome a line out.
#
#     client.sh n1=10.0.0.1:7000,n2=10.0.0.2:7000,…

ask() { # HOST PORT WORDS: the answer; exit code 7 if there is no connection
  timeout 1 bash -c 'exec 3<>"/dev/tcp/$0/$1" || exit 7; echo "$2" >&3; read -r -u 3 answer && echo "$answer"' "$@" 2>/dev/null
}

while read -r line; do
  [[ $line =~ \"id\":([0-9]+),\"f\":\"([a-z]+)\",\"key\":\"([a-z0-9]+)\",\"value\":([0-9]+|null),\"node\":\"([a-z0-9]+)\" ]] || exit 1
  id=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} key=${BASH_REMATCH[3]} value=${BASH_REMATCH[4]} node=${BASH_REMATCH[5]}
  [[ $f == read ]] && words="get $key" || words="set $key $value"
  outcome='"type":"fail","error":"no primary"'
  for _ in 1 2 3; do
    [[ ",$1," =~ ,$node=([^,:]+):([0-9]+), ]] || exit 1
    read -r verb rest <<<"$(ask "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "$words"; echo "exit $?")"
    case $verb in
      ok) outcome="\"type\":\"ok\",\"value\":${rest:-null}"; break ;;
      no) node=$rest ;; # it did nothing, and names the primary
      exit) # no answer: whether it did anything depends on whether it was sent
        [[ $rest == 7 ]] && type=fail || type=info
        outcome="\"type\":\"$type\",\"error\":\"no answer from $node\""; break ;;
      *) outcome='"type":"info","error":"not copied to a majority"'; break ;;
    esac
  done
  echo "{\"id\":$id,$outcome}"
done
