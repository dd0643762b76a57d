package import PushCore

/// RFC 3339 in UTC with milliseconds.
package func timestamp(_ moment: Moment) -> String {
    let (seconds, fraction) = floored(moment.milliseconds, by: 1000)
    let (date, time) = calendar(seconds)
    return "\(date)T\(time).\(padded(fraction, 3))Z"
}

/// A second counted from 1970 as people read it: `2026-11-30 02:38:00 UTC`.
package func shownUTC(seconds: Int64) -> String {
    let (date, time) = calendar(seconds)
    return "\(date) \(time) UTC"
}

private func calendar(_ seconds: Int64) -> (date: String, time: String) {
    let (days, rest) = floored(seconds, by: 86_400)
    let (year, month, day) = civil(days)
    let time = [rest / 3600, rest / 60 % 60, rest % 60].map { padded($0, 2) }.joined(separator: ":")
    return ("\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))", time)
}

/// Year, month and day of a day counted from 1970-01-01, by the proleptic Gregorian calendar. Years are counted from
/// March, so that the leap day is a year's last and months have a regular pattern.
private func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = floored(days + 719_468, by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, day)
}

private func floored(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
    let remainder = value % divisor
    return remainder < 0 ? (value / divisor - 1, remainder + divisor) : (value / divisor, remainder)
}

private func padded(_ value: Int64, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}
