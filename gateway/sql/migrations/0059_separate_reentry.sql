-- phase: after
-- Only functions changed: a lost change whose row is locked waits alone.

-- functions: 3fc7272a6c31caf7badee3a4d16e13891a9be9bd8b6adb5e6dd56a383fb7feff
