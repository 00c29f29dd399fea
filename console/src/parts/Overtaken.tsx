/** Overtaken tells, above the buttons of a form, that somebody else saved what was being edited; see useFollowing. */
export const Overtaken = ({ back }: { back: (() => void) | undefined }) =>
  back && (
    <div class="overtaken" role="alert">
      <p class="warning">Somebody else saved this meanwhile: theirs stands in the place of what you typed.</p>
      <button type="button" class="button small" onClick={back}>
        Bring back mine
      </button>
    </div>
  )
