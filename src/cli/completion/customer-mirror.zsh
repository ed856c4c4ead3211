#compdef customer-mirror
# Completion of customer-mirror for zsh: source <(customer-mirror completion zsh), after compinit
_customer-mirror() {
  local line
  local -a found
  for line in "${(@f)$("${(Q)words[1]/#\~\//$HOME/}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == ':files' ]]; then
      compset -P '*='
      _files
      return
    fi
    [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  _describe 'customer-mirror' found
}
if [[ $funcstack[1] == '_customer-mirror' ]]; then
  _customer-mirror "$@"
else
  compdef _customer-mirror customer-mirror
fi
