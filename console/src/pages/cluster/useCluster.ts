import { useEffect } from 'preact/hooks'
import { changed, useQuery } from '../../api/query'
import { base, type ClusterStatus } from './types'

// Members come and go without any row of a table changing: this name stands for them.
const model = ['cluster']

const every = 2000

/** useCluster follows the members. */
export function useCluster() {
  const status = useQuery<ClusterStatus>(base, model)
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && changed(model), every)
    return () => clearInterval(timer)
  }, [])
  return status
}

export const clusterChanged = () => changed(model)
