import { defineConfig } from 'vite'
import { licences } from './licences.js'

// One script, one style sheet and the worker: a page whose node is lost must not have to load a further piece.
export default defineConfig({
  plugins: [licences()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: true,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: { output: { codeSplitting: false } },
  },
  worker: { format: 'es', rolldownOptions: { output: { entryFileNames: 'assets/[name]-[hash].js' } } },
  server: { proxy: { '/api': 'http://127.0.0.1:8000', '/version': 'http://127.0.0.1:8000', '/sse': 'http://127.0.0.1:8000' } },
})
