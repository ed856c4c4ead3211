# Completion of customer-mirror for bash: source <(customer-mirror completion bash)
_customer_mirror() {
  local word=$2 line words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  # Bash takes the sign between an option and its value for a word.
  [[ $word == '=' ]] && word=''
  # Bash leaves the words as they were typed; a file of this name is my file: my\ file, "my file".
  words=("${words[@]//[\\\"\']/}")
  COMPREPLY=()
  while IFS=$'\t' read -r line _; do
    if [[ $line == ':files' ]]; then
      # Bash 3 has no compopt.
      compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$word"))
    elif [[ $line == "$word"* ]]; then
      COMPREPLY+=("$line")
    fi
  done < <("${1/#\~\//$HOME/}" complete -- "${words[@]}" 2>/dev/null)
}
complete -F _customer_mirror customer-mirror
