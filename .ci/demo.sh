#!/bin/sh
# The demo: index the sample vault, ask what it answers, ask what it doesn't hold.
#     sh .ci/demo.sh PATH/TO/ragvault INDEX_FOLDER
# Needs neither Ollama (--no-llm) nor the network, and keeps to its own index and configuration.
set -eu

rag=$1
demo=$2
mkdir -p "$demo"
demo=$(cd "$demo" && pwd)
for name in $(env | sed -n 's/^\(RAGVAULT_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
export RAGVAULT_CONFIG="$demo/config.yaml"
cat > "$RAGVAULT_CONFIG" <<'END'
index:
  path: index
END

show() {
    printf '\n$ ragvault'
    for word in "$@"; do
        case $word in *" "*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n\n'
}

show index tests/sample-vault
"$rag" index tests/sample-vault

show ask --no-llm "What did I decide about the backend?"
"$rag" ask --no-llm "What did I decide about the backend?"

show ask --no-llm "What is the capital of Mongolia?"
code=0
"$rag" ask --no-llm "What is the capital of Mongolia?" || code=$?
if [ "$code" -ne 3 ]; then
    printf '\nThe demo expected exit code 3 (the notes do not hold it) and got %s.\n' "$code" >&2
    exit 1
fi

printf '\nExit code 3: the notes do not hold it, so ragvault did not make it up.\n'
printf 'Your own notes next:  %s index ~/notes   (then: ask "…")\n' "$rag"
