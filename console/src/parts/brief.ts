const most = 300

/** brief is a text for a line: a value may have 20,000 characters, which would fill the screen and keep a screen reader talking for half an hour. */
export const brief = (text: string) => (text.length <= most ? text : `${[...text.slice(0, most)].slice(0, -1).join('')}…`)
