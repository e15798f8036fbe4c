#!/usr/bin/env bash
# A coding agent that speaks ralph-jsonl. `think` stands for its model: put a request to a real one there.
tell() { printf '%s\n' "$1"; }

json() { # Its argument as a JSON text
    printf '"'
    printf %s "$1" | LC_ALL=C sed -e 's/[\\"]/\\&/g' -e 's/\t/\\t/g' -e 's/\r/\\r/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }'
    printf '"'
}

fail() { # KIND TEXT
    tell "{\"type\":\"problem\",\"problem\":{\"kind\":{\"kind\":\"$1\"},\"text\":$(json "$2")}}"
    tell '{"type":"turn-ended","ok":false,"message":null}'
    exit 1
}

think() { # Sets `tool`, `target` and `text`
    [[ $RALPH_CONFORMANCE != refused ]] || fail auth "401: the key was refused"
    if [[ $prompt =~ Write\ the\ text\ \`([^\`]+)\`\ into\ the\ file\ \`([^\`]+)\` ]]; then
        tool=write target=${BASH_REMATCH[2]} text=${BASH_REMATCH[1]}
    elif [[ $prompt =~ Run\ the\ command\ \`([^\`]+)\` ]]; then
        tool=shell target=${BASH_REMATCH[1]}
    fi
}

use() { if [[ $tool == write ]]; then printf %s "$text" | tee "$target"; else bash -c "$target" </dev/null; fi; }

trap 'exit 143' TERM
[[ $1 != --version ]] || { echo "bash-agent 1.0.0"; exit; }
home=~/.ralph-example-agent
[[ $1 != --resume || -e $home/$2.txt ]] || fail session-lost "there is no session $2"
session=${2:-bash-$$-$RANDOM}
[[ $1 != --resume ]] || known=$(<"$home/$session.txt")
prompt=$(cat)
tell "{\"type\":\"opened\",\"session\":$(json "$session"),\"model\":\"words\"}"
think
if [[ $tool ]]; then
    tell "{\"type\":\"tool-started\",\"call\":\"1\",\"tool\":\"$tool\",\"input\":$(json "$target")}"
    known=$(use)
    (($? < 128)) || exit 143 # Ended by a signal: this turn is being stopped
    tell "{\"type\":\"tool-ended\",\"call\":\"1\",\"tool\":\"$tool\",\"ok\":true,\"output\":$(json "$known")}"
fi
[[ $prompt =~ [Rr]eply\ with\ \`([^\`]+)\` ]] && answer=${BASH_REMATCH[1]} || answer=${known##*$'\n'}
mkdir -p "$home" && printf %s "$known" >"$home/$session.txt"
tell "{\"type\":\"turn-ended\",\"ok\":true,\"message\":$(json "$answer")}"
