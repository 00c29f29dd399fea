import '../styles/charts.css'

interface Props {
  /** What the line is of, for those who do not see it. */
  label: string
  values: number[]
  /** The height that is the top of the chart; without: the largest value. */
  top?: number | undefined
}

const width = 120
const height = 28

/** Spark is a line of the last values, the newest at the right. */
export function Spark({ label, values, top }: Props) {
  const most = Math.max(top ?? 0, ...values, 1e-9)
  const step = width / (samples - 1)
  const from = width - (values.length - 1) * step
  const points = values.map((v, i) => `${(from + i * step).toFixed(1)},${(height - 1 - (v / most) * (height - 2)).toFixed(1)}`)
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {points.length > 1 && (
        <>
          <path class="spark-area" d={`M${from.toFixed(1)},${height} L${points.join(' L')} L${width},${height} Z`} />
          <polyline class="spark-line" points={points.join(' ')} />
        </>
      )}
    </svg>
  )
}

/** How many values a line shows. */
export const samples = 60
