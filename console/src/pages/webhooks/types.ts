export interface Webhook {
  id: number
  url: string
  enabled: boolean
  secret: string
}

/** Delivery is one event on its way to a webhook, or what became of it. */
export interface Delivery {
  id: number
  event_type: string
  created_at: string
  outcome: 'waiting' | 'delivered' | 'refused' | 'given_up'
  attempts: number
  tried_at: string | null
  due_at: string | null
  status: number | null
  error: string
}

/** Owner is what the webhooks are of. */
export interface Owner {
  type: 'environment' | 'organisation'
  /** The key of the environment, or the id of the organisation. */
  id: string
  base: string
}

export const webhookModels = ['Webhook']
