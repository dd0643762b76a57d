import Glibc
var s = statvfs()
print(statvfs("/", &s), s.f_bavail)
var t = timex()
print(ntp_adjtime(&t), t.status)
