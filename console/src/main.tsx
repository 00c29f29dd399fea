import { render } from 'preact'
import './styles/base.css'
import './styles/parts.css'
import './styles/shell.css'
import { App } from './app'
import { keepFocus } from './parts/keepFocus'
import './state/theme'
import { start } from './state/session'

keepFocus()
render(<App />, document.getElementById('app')!)
void start()
