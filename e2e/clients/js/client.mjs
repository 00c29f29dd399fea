// The official JavaScript client's build for servers ("isomorphic") in Node. It opens
// no event stream there: only in a browser, see ../chromium.
import { createFlagsmithInstance } from '@flagsmith/flagsmith/isomorphic'
import { check, done, world, setLive } from '../lib/check.mjs'
import { cases } from '../lib/js-cases.mjs'

await cases({ createFlagsmithInstance, check, setLive, storage: false, world: { ...world, realtime: '' } })
done()
