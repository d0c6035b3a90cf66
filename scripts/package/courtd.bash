# Completion of courtd for bash, without the package bash-completion. completion.ts replaces what is between @.

_courtd() {
  local current=${COMP_WORDS[COMP_CWORD]} words='' commands='' options='' option='' word i
  # The options that take a value; each takes one in every command that has it.
  local valued=' @valued@ ' files=''
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
    @values@
  esac
  [[ -z $option ]] || return

  case "$words " in
    @cases@
  esac

  if [[ $current == -* ]]; then
    _courtd_words "$options --data --help"
  elif [[ -n $files ]]; then
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
