/// <reference types="vite/client" />

// The worker's own scope, which the DOM's types lack.
interface SharedWorkerGlobalScope {
  onconnect: (e: MessageEvent) => void
}

interface TrustedScriptURL {
  readonly brand: 'TrustedScriptURL'
}

interface Window {
  trustedTypes?: {
    createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL(url: string): TrustedScriptURL }
  }
}
