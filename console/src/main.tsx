import { render } from 'preact'
import './styles/base.css'
import './styles/parts.css'
import './styles/shell.css'
import { App } from './app'
import './state/theme'
import { start } from './state/session'

render(<App />, document.getElementById('app')!)
void start()
