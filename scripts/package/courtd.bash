# Completion of courtd for bash. It does not need the package bash-completion.

_courtd() {
  local current=${COMP_WORDS[COMP_CWORD]} words='' commands='' options='' option='' word i
  # The options that take a value; each takes one in every command that has it.
  local valued=' --data --host --port --venue --rate-limit --connections-per-address --body-limit --min-free --quiet --refused-bytes --log-level
    --tls-cert --tls-key --metrics-file --grace --last --day --format --type --court --from --to --received-from --received-to
    -o --output --keep --older-than --before --after --order --window --session --source --code --since --court-lines --y-from
    --url --creds --ca --players --monitor --box --feed --ship-hold --token --courts --sport --rate --seed --for --camera
    --command --ping --state '
  COMPREPLY=()

  # words: the command and its arguments; option: the option whose value is being typed.
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ -n $option ]]; then
      # Bash splits "--format=csv" into three words.
      [[ $word == = ]] || option=''
    elif [[ $valued == *[[:space:]]"$word"[[:space:]]* ]]; then
      option=$word
    elif [[ $word != -* ]]; then
      words+=" $word"
    fi
  done
  [[ $current != = ]] || current=''

  case $option in
    '') ;;
    --data | --state) _courtd_files -d ;;
    --tls-cert | --tls-key | --metrics-file | --creds | --ca | --feed | -o | --output) _courtd_files -f ;;
    --court-lines) _courtd_words 'pickleball badminton tennis padel none' ;;
    --y-from) _courtd_words 'base net' ;;
    --sport) _courtd_words 'pickleball badminton tennis padel' ;;
    --format) _courtd_words 'csv ndjson xlsx parquet' ;;
    --players) _courtd_words 'as-sent pseudonym' ;;
    --order) _courtd_words 'arrival eot' ;;
    --log-level) _courtd_words 'trace debug info warn error fatal silent' ;;
    --type) _courtd_words 'BALL_BOUNCE BALL_HIT BALL_SPEED PLAYER_POSITION PLAYER_IDENTITY' ;;
  esac
  [[ -z $option ]] || return

  case "$words " in
    ' ') commands='serve status alert token session event player export report backup restore rebuild prune tail import check metrics openapi rejections conflicts fleet ship simulate conformance support' options='-V --version' ;;
    ' serve '*)
      options='--host --port --venue --rate-limit --connections-per-address --body-limit --min-free --quiet --refused-bytes --log-level
        --tls-cert --tls-key --metrics-file'
      ;;
    ' alert '*) options='--url --command --ping --state --once' ;;
    ' status '*) options='--json --watch --brief' ;;
    ' rejections ') commands='show export drop' options='--last --json' ;;
    ' rejections export '*) options='--source --code --since -o --output' ;;
    ' rejections drop '*) options='--older-than --all --yes --json' ;;
    ' rejections show '* | ' conflicts '*) options='--json' ;;
    ' token ') commands='rotate list revoke' ;;
    ' token rotate '*) options='--grace' ;;
    ' token list '* | ' session show '* | ' event show '* | ' player show '*) options='--json' ;;
    ' restore '*) options='--salvage --json' ;;
    ' rebuild '*) options='--allow-holes --json' ;;
    ' session ') commands='list show' ;;
    ' session list '*) options='--last --json' ;;
    ' event ') commands='show' ;;
    ' player ') commands='list show export erase' ;;
    ' player list '*) options='--last --json' ;;
    ' player export '*) options='-o --output' ;;
    ' export '*)
      options='--day --all --format --current --type --court --from --to --received-from --received-to --with-received
        -o --output --describe --json'
      ;;
    ' report '*) options='--court-lines --y-from -o --output' ;;
    ' backup '*) options='--keep --with-refused --json' ;;
    ' support '* | ' openapi '*) options='-o --output' ;;
    ' simulate '*) options='--url --token --courts --sport --rate --seed --for --clean --print' ;;
    ' conformance '*) options='--host --port --camera --restart -o --output' ;;
    ' check '*) options='--full --alert --acknowledge --json' ;;
    ' fleet ') commands='init status tail' ;;
    ' fleet init '*) options='--creds --ca' ;;
    ' fleet status '*) options='--creds --ca --json' ;;
    ' fleet tail '*) options='--creds --ca --box --after' ;;
    ' tail '*) options='--follow --after --session --type --court --source --order --window --json' ;;
    ' import '*) options='--dry-run --json' ;;
    ' player erase '*) options='--before --dry-run --yes --json' ;;
    ' prune '*) options='--older-than --type --ship-hold --dry-run --yes --json' ;;
    ' ship ') commands='status epoch feed' options='--url --box --creds --ca --players --feed --once --json' ;;
    ' ship status '*) options='--json' ;;
    ' ship epoch '*) options='--new --json' ;;
  esac

  if [[ $current == -* ]]; then
    _courtd_words "$options --data --help"
  elif [[ $words == ' backup' || $words == ' restore' || $words == ' rebuild'* || $words == ' import'* ]]; then
    _courtd_files -f
  else
    _courtd_words "$commands"
  fi
}

_courtd_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}

_courtd_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
}

complete -F _courtd courtd
